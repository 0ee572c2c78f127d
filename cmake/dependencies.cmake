# Finds what the project links or includes, and stops with one message that names everything missing.
#
# Targets: PkgConfig::JANSSON SODIUM YAML ZSTD SECCOMP CMARK UV SQLITE3 CMOCKA, kf::opencl_headers, kf::clang_headers,
# and kf_static::jansson sodium yaml zstd seccomp (other names of the first five).
# The first five are linked from their .a in all our programs: kf-eval has to run on a machine that has libc and
# nothing else of this list. libcmark, libuv and SQLite, which only kf uses, are shared.

# target | pkg-config name | Debian/Ubuntu package | needed by | archive to link ("-": the shared library)
set(kf_packages
    "JANSSON|jansson|libjansson-dev|JSON everywhere|libjansson.a"
    "SODIUM|libsodium|libsodium-dev|hashes|libsodium.a"
    "YAML|yaml-0.1|libyaml-dev|task files|libyaml.a"
    "ZSTD|libzstd|libzstd-dev|stored sources and logs|libzstd.a"
    "SECCOMP|libseccomp|libseccomp-dev|the sandbox|libseccomp.a"
    "CMARK|libcmark|libcmark-dev|answers in Markdown|-"
    "UV|libuv|libuv1-dev|the run loop|-"
    "SQLITE3|sqlite3|libsqlite3-dev|the run database|-")
if(KF_TESTS)
  list(APPEND kf_packages "CMOCKA|cmocka|libcmocka-dev|unit tests (or -DKF_TESTS=OFF)|-")
endif()

set(kf_missing_text "")
set(kf_missing_packages "")
macro(kf_note_missing what package needed_by)
  string(APPEND kf_missing_text "  ${what}: package ${package}, needed by ${needed_by}\n")
  list(APPEND kf_missing_packages ${package})
endmacro()

function(kf_find_archive prefix archive ret_path)
  unset(path) # a value of the caller would count as found
  find_library(path NAMES ${archive} HINTS ${KF_${prefix}_STATIC_LIBRARY_DIRS} ${KF_${prefix}_LIBDIR} NO_CACHE)
  set(${ret_path} ${path} PARENT_SCOPE)
endfunction()

function(kf_add_package_target prefix libraries flags)
  add_library(PkgConfig::${prefix} INTERFACE IMPORTED GLOBAL)
  target_include_directories(PkgConfig::${prefix} SYSTEM INTERFACE ${KF_${prefix}_INCLUDE_DIRS})
  target_link_libraries(PkgConfig::${prefix} INTERFACE ${libraries})
  target_compile_options(PkgConfig::${prefix} INTERFACE ${KF_${prefix}_CFLAGS_OTHER})
  target_link_options(PkgConfig::${prefix} INTERFACE ${flags})
endfunction()

find_package(PkgConfig QUIET)
if(NOT PKG_CONFIG_EXECUTABLE)
  message(FATAL_ERROR "pkg-config is missing: every library is found with it\n"
                      "Install it with this command, or run scripts/setup.sh:\n"
                      "  apt-get install pkg-config")
endif()

foreach(row IN LISTS kf_packages)
  string(REPLACE "|" ";" row "${row}")
  list(GET row 0 prefix)
  list(GET row 1 name)
  list(GET row 2 package)
  list(GET row 3 needed_by)
  list(GET row 4 archive)
  pkg_check_modules(KF_${prefix} QUIET ${name})
  if(NOT KF_${prefix}_FOUND)
    kf_note_missing("${name}" ${package} "${needed_by}")
  elseif(archive STREQUAL "-")
    kf_add_package_target(${prefix} "${KF_${prefix}_LINK_LIBRARIES}" "${KF_${prefix}_LDFLAGS_OTHER}")
  else()
    kf_find_archive(${prefix} ${archive} path)
    if(path)
      kf_add_package_target(${prefix} "${path}" "${KF_${prefix}_STATIC_LDFLAGS_OTHER}")
      string(TOLOWER ${prefix} lower)
      add_library(kf_static::${lower} ALIAS PkgConfig::${prefix})
    else()
      kf_note_missing("${archive} of ${name}" ${package} "${needed_by}")
    endif()
  endif()
endforeach()

find_path(KF_OPENCL_INCLUDE_DIR CL/cl.h)
if(KF_OPENCL_INCLUDE_DIR)
  add_library(kf::opencl_headers INTERFACE IMPORTED GLOBAL)
  target_include_directories(kf::opencl_headers SYSTEM INTERFACE ${KF_OPENCL_INCLUDE_DIR})
else()
  kf_note_missing("CL/cl.h" opencl-c-headers "the OpenCL backend")
endif()

# Only clang's C header is needed: the library is opened at run time. Debian keeps it below /usr/lib/llvm-N; the
# newest N comes first. Other systems have it in the usual place.
file(GLOB kf_llvm_dirs LIST_DIRECTORIES true /usr/lib/llvm-*)
set(kf_llvm_include_dirs "")
foreach(dir IN LISTS kf_llvm_dirs)
  if(dir MATCHES "/llvm-([0-9]+)$" AND CMAKE_MATCH_1 GREATER_EQUAL 14)
    list(APPEND kf_llvm_include_dirs ${dir}/include)
  endif()
endforeach()
list(SORT kf_llvm_include_dirs COMPARE NATURAL ORDER DESCENDING)
find_path(KF_CLANG_INCLUDE_DIR clang-c/Index.h HINTS ${kf_llvm_include_dirs})
if(KF_CLANG_INCLUDE_DIR)
  add_library(kf::clang_headers INTERFACE IMPORTED GLOBAL)
  target_include_directories(kf::clang_headers SYSTEM INTERFACE ${KF_CLANG_INCLUDE_DIR})
else()
  kf_note_missing("clang-c/Index.h (clang 14 or newer)" libclang-dev "kernel classification")
endif()

if(kf_missing_text)
  list(JOIN kf_missing_packages " " kf_missing_packages)
  # Indented lines are printed as they are, others are wrapped: the command has to stay in one piece.
  message(FATAL_ERROR "missing libraries or headers:\n${kf_missing_text}"
                      "Install them with this command, or run scripts/setup.sh:\n"
                      "  apt-get install ${kf_missing_packages}")
endif()
