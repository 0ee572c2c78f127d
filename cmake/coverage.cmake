# Target coverage-report: runs the tests and prints the lines covered per file of src/.
if(KF_COVERAGE)
  find_program(KF_LCOV lcov)
  if(KF_LCOV)
    set(info ${CMAKE_BINARY_DIR}/coverage.info)
    add_custom_target(
      coverage-report
      COMMAND ${KF_LCOV} --quiet --zerocounters --directory ${CMAKE_BINARY_DIR}
      COMMAND ${CMAKE_CTEST_COMMAND} --output-on-failure -j 2 -LE "^(check|fuzz)$"
      COMMAND ${KF_LCOV} --quiet --capture --directory ${CMAKE_BINARY_DIR} --output-file ${info}
      COMMAND ${KF_LCOV} --quiet --extract ${info} ${CMAKE_SOURCE_DIR}/src/* --output-file ${info}
      COMMAND ${KF_LCOV} --list ${info}
      WORKING_DIRECTORY ${CMAKE_BINARY_DIR}
      VERBATIM USES_TERMINAL)
  else()
    message(STATUS "no target coverage-report: it needs lcov (package lcov)")
  endif()
endif()
