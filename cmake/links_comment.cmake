# Reads the `/* links: kf_base kf_task */` comment of a one-file program (a unit test, a fuzz target).
#
# Sets ret_libraries to the libraries, ret_programs to the executables named (built first, not linked) and
# ret_missing to those of our targets that this build does not have.
function(kf_read_links source ret_libraries ret_programs ret_missing)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
  file(STRINGS ${source} line LIMIT_COUNT 1 REGEX "links:")
  if(NOT line MATCHES "links: *([^*]*[^* ])")
    message(FATAL_ERROR "${source}: no first-line comment /* links: kf_base ... */")
  endif()
  string(REGEX REPLACE "[ ,]+" ";" names "${CMAKE_MATCH_1}")
  set(libraries "")
  set(programs "")
  set(missing "")
  foreach(name IN LISTS names)
    if(NOT TARGET ${name})
      if(name MATCHES "^kf")
        list(APPEND missing ${name})
      else()
        list(APPEND libraries ${name})
      endif()
      continue()
    endif()
    get_target_property(type ${name} TYPE)
    if(type STREQUAL "EXECUTABLE")
      list(APPEND programs ${name})
    else()
      list(APPEND libraries ${name})
    endif()
  endforeach()
  set(${ret_libraries} ${libraries} PARENT_SCOPE)
  set(${ret_programs} ${programs} PARENT_SCOPE)
  set(${ret_missing} ${missing} PARENT_SCOPE)
endfunction()

# Environment of every test: sanitizers stop at the first fault and say where. The suppressed leaks are inside
# OpenCL drivers and the compilers they carry, which keep their caches for the life of the process.
set(KF_TEST_ENVIRONMENT
    "ASAN_OPTIONS=allocator_may_return_null=1:detect_stack_use_after_return=1:strict_string_checks=1"
    "LSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/cmake/lsan.supp:print_suppressions=0"
    "UBSAN_OPTIONS=print_stacktrace=1")
