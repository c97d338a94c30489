# The list of CUDA kernels: which folds, in which arithmetic, of which elements. Writes one .cu a fold and family of
# elements, and the table of them all. What is not here is not compiled, and asking for it is an error that says so.
set(catalog_folder ${CMAKE_CURRENT_BINARY_DIR}/catalog)
set(catalog_sources)
set(catalog_lists)

# As C++ spells them.
set(type_f16 Half)
set(type_bf16 BFloat16)
set(type_f32 float)
set(type_f64 double)
foreach(bits 8 16 32 64)
  set(type_i${bits} std::int${bits}_t)
  set(type_u${bits} std::uint${bits}_t)
endforeach()
set(type_boolean Boolean)
set(signed_types i8 i16 i32 i64)
set(unsigned_types u8 u16 u32 u64)
set(integer_types ${signed_types} ${unsigned_types} boolean)
set(float_types f32 f16 bf16)

# catalog_file(name header row...): one .cu with these rows.
function(catalog_file name header)
  list(JOIN ARGN ",\n      " rows)
  file(CONFIGURE OUTPUT ${catalog_folder}/${name}.cu CONTENT [[// Written by kernels/cuda/catalog.cmake.
#include "kernels/folds/@header@"

#include "kernels/cuda/catalog_rows.h"

namespace ndfold::cuda {

using namespace folds;

std::span<const CatalogRow> @name@_rows() {
  static constexpr CatalogRow kRows[] = {
      @rows@};
  return kRows;
}

}  // namespace ndfold::cuda
]] @ONLY)
  set(catalog_sources ${catalog_sources} ${catalog_folder}/${name}.cu PARENT_SCOPE)
  set(catalog_lists ${catalog_lists} ${name} PARENT_SCOPE)
endfunction()

# Appends to `rows` a fold's rows: fold kind, class, breadth, accumulator's dtype and C++ type, and elements' dtypes.
macro(append_rows rows kind class breadth accumulate number)
  foreach(element ${ARGN})
    string(CONCAT row "fold_row<${class}<${number}>, ${type_${element}}, Breadth::${breadth}>"
                      "(FoldKind::${kind}, DType::${accumulate})")
    list(APPEND ${rows} "${row}")
  endforeach()
endmacro()

macro(append_merge rows kind class accumulate number)
  list(APPEND ${rows} "merge_row<${class}<${number}>>(FoldKind::${kind}, DType::${accumulate})")
endmacro()

# In f32 of f32 and 16-bit floats, a file each where the kernels are many; in f64 of all floats, and of `integers` too.
macro(catalog_floats kind class header breadth integers)
  set(rows)
  append_merge(rows ${kind} ${class} f32 float)
  if(${breadth} STREQUAL many)
    append_rows(rows ${kind} ${class} many f32 float f32)
    catalog_file(${kind}_f32 ${header} ${rows})
    foreach(half f16 bf16)
      set(rows)
      append_rows(rows ${kind} ${class} many f32 float ${half})
      catalog_file(${kind}_${half} ${header} ${rows})
    endforeach()
  else()
    append_rows(rows ${kind} ${class} few f32 float ${float_types})
    catalog_file(${kind}_f32 ${header} ${rows})
  endif()
  set(rows)
  append_merge(rows ${kind} ${class} f64 double)
  append_rows(rows ${kind} ${class} few f64 double f64 ${float_types} ${integers})
  catalog_file(${kind}_f64 ${header} ${rows})
endmacro()

# In 64 bits, of integers and bool.
macro(catalog_integers kind class header)
  set(rows)
  foreach(accumulate i64 u64)
    append_merge(rows ${kind} ${class} ${accumulate} std::uint64_t)
  endforeach()
  append_rows(rows ${kind} ${class} few i64 std::uint64_t ${signed_types} boolean)
  append_rows(rows ${kind} ${class} few u64 std::uint64_t ${unsigned_types})
  catalog_file(${kind}_integers ${header} ${rows})
endmacro()

# In the elements' own type: nothing is rounded. 16-bit floats in f32.
macro(catalog_own kind class header)
  foreach(element ${float_types})
    set(rows)
    if(${element} STREQUAL f32)
      append_merge(rows ${kind} ${class} f32 float)
    endif()
    append_rows(rows ${kind} ${class} many f32 float ${element})
    catalog_file(${kind}_${element} ${header} ${rows})
  endforeach()
  set(rows)
  foreach(element f64 ${integer_types})
    set(number ${type_${element}})
    if(${element} STREQUAL boolean)
      set(number std::uint8_t)
    endif()
    append_merge(rows ${kind} ${class} ${element} ${number})
    append_rows(rows ${kind} ${class} few ${element} ${number} ${element})
  endforeach()
  catalog_file(${kind}_others ${header} ${rows})
endmacro()

# Whether elements are 0, of any type.
macro(catalog_truths kind class header)
  set(rows "merge_row<${class}<std::uint8_t>>(FoldKind::${kind}, DType::i64)")
  foreach(element f64 ${float_types} ${integer_types})
    string(CONCAT row "fold_row<${class}<std::uint8_t>, ${type_${element}}, Breadth::few, Truths>"
                      "(FoldKind::${kind}, DType::i64)")
    list(APPEND rows "${row}")
  endforeach()
  catalog_file(${kind} ${header} ${rows})
endmacro()

#               fold             class             header             breadth  and integers in f64
catalog_floats(sum               Sum               sum.h              many "")
catalog_floats(mean              Mean              sum.h              many "${integer_types}")
catalog_floats(compensated_sum   CompensatedSum    compensated_sum.h  few  "")
catalog_floats(compensated_mean  CompensatedMean   compensated_sum.h  few  "${integer_types}")
catalog_floats(prod              Prod              sum.h              few  "")
catalog_floats(var               Variance          moments.h          many "${integer_types}")
catalog_floats(std_dev           StandardDeviation moments.h          many "${integer_types}")
catalog_floats(sumsq             SumOfSquares      norms.h            many "")
catalog_floats(l1                L1                norms.h            many "${integer_types}")
catalog_floats(l2                L2                norms.h            many "${integer_types}")
catalog_floats(linf              Linf              extremum.h         many "${integer_types}")
catalog_floats(logsumexp         LogSumExp         online_softmax.h   many "")
catalog_integers(sum             Sum               sum.h)
catalog_integers(prod            Prod              sum.h)
catalog_integers(sumsq           SumOfSquares      norms.h)
catalog_own(max                  Max               extremum.h)
catalog_own(min                  Min               extremum.h)
catalog_own(argmax               ArgMax            arg_extremum.h)
catalog_own(argmin               ArgMin            arg_extremum.h)
catalog_truths(any               Any               logical.h)
catalog_truths(all               All               logical.h)
catalog_truths(count_nonzero     CountNonzero      logical.h)

# A softmax writes the type it reads in many ways, other floats in few; its states are those of logsumexp.
foreach(element f32 f16 bf16 f64)
  set(number float)
  if(${element} STREQUAL f64)
    set(number double)
  endif()
  set(rows)
  list(APPEND rows "softmax_row<${number}, ${type_${element}}, ${type_${element}}, Breadth::many>()")
  catalog_file(softmax_${element} online_softmax.h ${rows})

  set(rows)
  foreach(output f32 f16 bf16 f64)
    if(NOT ${output} STREQUAL ${element})
      list(APPEND rows "softmax_row<${number}, ${type_${element}}, ${type_${output}}, Breadth::few>()")
    endif()
    list(APPEND rows "map_row<${number}, ${type_${element}}, ${type_${output}}>()")
  endforeach()
  catalog_file(maps_${element} online_softmax.h ${rows})
endforeach()

set(rows)
foreach(bits 8 16 32 64)
  list(APPEND rows "move_row<std::uint${bits}_t>()")
endforeach()
catalog_file(moves sum.h ${rows})

# The table of all lists.
set(declarations "")
foreach(list IN LISTS catalog_lists)
  string(APPEND declarations "std::span<const CatalogRow> ${list}_rows();\n")
endforeach()
list(TRANSFORM catalog_lists REPLACE "(.+)" "\\1_rows" OUTPUT_VARIABLE names)
list(JOIN names ",\n                                  " names)
file(CONFIGURE OUTPUT ${catalog_folder}/catalog_lists.cpp CONTENT [[// Written by kernels/cuda/catalog.cmake.
#include "kernels/cuda/catalog.h"

namespace ndfold::cuda {

@declarations@
Found find_kernel(const KernelKey& key, const Layout& layout) {
  static constexpr auto kLists = {@names@};
  for (const auto list : kLists)
    if (const Found found = find_among(list(), key, layout); found.kernel != nullptr) return found;
  return {};
}

}  // namespace ndfold::cuda
]] @ONLY)
