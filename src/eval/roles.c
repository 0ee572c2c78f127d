/* roles.c - the table of child roles; see roles.h. */
#include "eval/roles.h"

#include "behavior/behavior.h"
#include "build/builder.h"
#include "device/runner.h"
#include "verify/oracle.h"

const kf_role_entry kf_eval_roles[] = {
    {"devices", kf_devices_main},
    {"builder", kf_builder_main},
    {"cc", kf_cc_main},
    {"runner", kf_runner_main},
    {"evidence", kf_evidence_main},
    {"oracle", kf_oracle_main},
    {NULL, NULL},
};
