# Compiler settings of every target of the project.
set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON) # POSIX and GNU names
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
link_libraries(Threads::Threads m ${CMAKE_DL_LIBS})

include_directories(${CMAKE_SOURCE_DIR}/src)
add_compile_definitions(_GNU_SOURCE KF_VERSION="${PROJECT_VERSION}")
add_compile_options(-Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wundef
                    -Wpointer-arith)
if(KF_WERROR)
  add_compile_options(-Werror)
endif()

# banned.h turns banned calls into macros, so the headers that declare those functions have to come first.
add_compile_options("SHELL:-include stdio.h" "SHELL:-include stdlib.h" "SHELL:-include string.h"
                    "SHELL:-include ${CMAKE_SOURCE_DIR}/src/base/banned.h")

if(KF_SANITIZE)
  add_compile_options(-fsanitize=${KF_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${KF_SANITIZE})
endif()
if(KF_FUZZ)
  if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "KF_FUZZ needs clang: ${CMAKE_C_COMPILER} is ${CMAKE_C_COMPILER_ID}")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
  add_link_options(-fsanitize=fuzzer-no-link)
endif()
if(KF_COVERAGE)
  add_compile_options(--coverage)
  add_link_options(--coverage)
endif()
