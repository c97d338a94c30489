// ND_HD: a function of both host and device.
#pragma once

#ifdef __CUDACC__
#define ND_HD __host__ __device__
#else
#define ND_HD
#endif
