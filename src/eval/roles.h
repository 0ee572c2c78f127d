/* roles.h - the child roles of kf-eval; each is this executable with `--role NAME` (src/eval/README.md). */
#ifndef KF_EVAL_ROLES_H
#define KF_EVAL_ROLES_H

#include "sandbox/role.h"

extern const kf_role_entry kf_eval_roles[]; /* ends with a NULL name */

#endif
