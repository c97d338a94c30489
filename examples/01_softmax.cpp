// The softmax of a small image over both of its axes at once, for each of three colours.
#include <ndfold/ndfold.h>

#include <cstdio>
#include <vector>

int main() {
  std::vector<float> image(2 * 4 * 3), weights(image.size());
  for (std::size_t i = 0; i < image.size(); ++i) image[i] = static_cast<float>(i % 7);
  const ndfold::ViewDesc desc = ndfold::dense(ndfold::DType::f32, {2, 4, 3});  // rows, columns, colours

  const ndfold::ConstTensorView in(image.data(), desc);
  const ndfold::TensorView out{.data = weights.data(), .desc = desc, .device = {}};
  const ndfold::Status status = ndfold::softmax(in, out, {.axes = {0, 1}, .scale = 0.5});
  if (!status) return std::printf("refused: %s\n", status.message().c_str()), 1;

  for (std::size_t colour = 0; colour < 3; ++colour) {
    double sum = 0;
    for (std::size_t pixel = 0; pixel < 8; ++pixel) sum += weights[3 * pixel + colour];
    std::printf("colour %zu adds up to %.6f\n", colour, sum);
    if (sum < 0.999999 || sum > 1.000001) return 1;
  }
}
