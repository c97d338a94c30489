# libndfold: the rooms' objects in one library, its exports and its installation.

set(rooms ndfold_plans ndfold_cuda_bind ndfold_kernels_cpu_machine ndfold_exec_cpu ndfold_exec_cuda ndfold_api)
foreach(level IN LISTS NDFOLD_CPU_LEVELS)
  list(APPEND rooms ndfold_kernels_cpu_${level})
endforeach()
if(NDFOLD_CUDA)
  list(APPEND rooms ndfold_kernels_cuda)
endif()

# What a public header declares is exported; the rest is hidden, and so are the std and Eigen templates it uses.
foreach(room ndfold_plans ndfold_exec_cpu ndfold_exec_cuda ndfold_api)
  target_compile_options(${room} PRIVATE "SHELL:-include ${PROJECT_SOURCE_DIR}/cmake/public_visibility.h")
endforeach()
list(TRANSFORM rooms REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>" OUTPUT_VARIABLE room_objects)

add_library(ndfold ${room_objects})
add_library(ndfold::ndfold ALIAS ndfold)
set_target_properties(ndfold PROPERTIES
  LINKER_LANGUAGE CXX
  VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
target_compile_features(ndfold PUBLIC cxx_std_20)
target_include_directories(ndfold PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
target_link_libraries(ndfold PRIVATE Threads::Threads)
if(NDFOLD_CUDA)
  target_link_libraries(ndfold PRIVATE CUDA::cudart_static)
endif()

# Gives a shared library of ours its exports and the linker's hardening.
function(ndfold_export_public target)
  target_link_options(${target} PRIVATE
    -Wl,-z,relro,-z,now -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/ndfold.map)
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/ndfold.map)
endfunction()
if(BUILD_SHARED_LIBS)
  ndfold_export_public(ndfold)
endif()

include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/ndfold)
configure_package_config_file(cmake/ndfoldConfig.cmake.in ndfoldConfig.cmake INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(ndfoldConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(TARGETS ndfold EXPORT ndfoldTargets INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT ndfoldTargets NAMESPACE ndfold:: DESTINATION ${package_folder})
install(DIRECTORY include/ndfold DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(FILES ${PROJECT_BINARY_DIR}/ndfoldConfig.cmake ${PROJECT_BINARY_DIR}/ndfoldConfigVersion.cmake
        DESTINATION ${package_folder})
