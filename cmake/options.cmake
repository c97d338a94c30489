# How our own code is compiled. Nothing here reaches those who link ndfold, and nothing is ever fast-math.

add_library(ndfold_headers INTERFACE)
target_include_directories(ndfold_headers INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR})
target_compile_features(ndfold_headers INTERFACE cxx_std_20)

set(optimized $<NOT:$<OR:$<CONFIG:Debug>,$<CONFIG:>>>)
set(sanitized $<BOOL:${NDFOLD_SANITIZE}>)
set(fortified $<AND:${optimized},$<NOT:${sanitized}>>)

# g++ 12 sees overlap in `text = "x"`: https://gcc.gnu.org/bugzilla/show_bug.cgi?id=105651
set(wrong_restrict $<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>)

add_library(ndfold_options INTERFACE)
set_target_properties(ndfold_options PROPERTIES INTERFACE_POSITION_INDEPENDENT_CODE ON)
target_compile_definitions(ndfold_options INTERFACE EIGEN_MPL2_ONLY)
target_compile_options(ndfold_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion
  $<${wrong_restrict}:-Wno-restrict>
  -fvisibility=hidden -fvisibility-inlines-hidden
  -fstack-protector-strong
  $<${fortified}:-U_FORTIFY_SOURCE>
  $<${fortified}:-D_FORTIFY_SOURCE=2>)
target_link_options(ndfold_options INTERFACE -Wl,-z,relro,-z,now)

# The whole build is instrumented, tests included: half-instrumented C++ gives false reports.
if(NDFOLD_SANITIZE)
  list(JOIN NDFOLD_SANITIZE "," sanitizers)
  add_compile_options(-fsanitize=${sanitizers} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${sanitizers})
  # tsan does not model the fences by which Eigen's pool falls asleep: it may report too much, never too little.
  if("thread" IN_LIST NDFOLD_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-Wno-tsan)
  endif()
endif()

# For many kernels at once: what the address sanitizer reports of a pointer is not checked twice. With all of it g++
# takes up to four times as long (extremum.cpp of baseline: 97 s, so 25 to 49).
add_library(ndfold_checked_once INTERFACE)
if("address" IN_LIST NDFOLD_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(ndfold_checked_once INTERFACE -fno-sanitize=null,object-size,pointer-overflow)
endif()
