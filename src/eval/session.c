/* session.c - the channel and the queue; see session.h. What a job does is in session_job.c. */
#include "eval/session.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "sandbox/child.h"
#include "sandbox/sandbox.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { READ_CHUNK = 65536, NOTE_MAX = 2048, TICK_MS = 20, IDLE_MS = 1000, DEADLINE_MAX_MS = 1000000000 };

kf_status kf_session_send(kf_session *session, const json_t *message, kf_err *err) {
  KF_CLEANUP(kf_buf_done) kf_buf line;
  kf_buf_init(&line, KF_WIRE_LINE_MAX);
  KF_TRY(kf_wire_write(&line, message, err));
  return kf_fs_write_fd(session->out, line.data, line.len, err);
}

/* Folders of sessions that were killed before they could remove them. Best effort: another session may be
 * doing the same. */
static void sweep_dead_sessions(const char *own_root) {
  char parent[KF_PATH_MAX], path[KF_PATH_MAX];
  snprintf(parent, sizeof parent, "%s", own_root);
  char *slash = strrchr(parent, '/');
  if (!slash || slash == parent) return;
  *slash = '\0';
  DIR *dir = opendir(parent);
  if (!dir) return;
  for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
    int pid = 0;
    if (sscanf(entry->d_name, "kf-eval-%d-", &pid) != 1 || pid <= 0) continue;
    if (kill(pid, 0) == 0 || errno != ESRCH) continue;
    if (kf_fs_join(path, parent, entry->d_name, NULL) == KF_OK) kf_fs_remove_tree(path, NULL);
  }
  closedir(dir);
}

static kf_status say_hello(kf_session *session, kf_err *err) {
  KF_CLEANUP(kf_json_freep) json_t *hello = NULL;
  json_t *devices = json_array();
  char sandbox[KF_SANDBOX_TEXT_MAX], upper[KF_SANDBOX_TEXT_MAX];
  if (!devices) return kf_nomem(err);
  for (int i = 0; i < session->ndevices; i++) {
    json_t *device = NULL;
    kf_status status = kf_device_to_json(&session->devices[i], &device, err);
    if (status != KF_OK || json_array_append_new(devices, device) != 0) {
      json_decref(devices);
      return status != KF_OK ? status : kf_nomem(err);
    }
  }
  kf_sandbox_probe(sandbox);
  kf_sandbox_upper_probe(upper);
  KF_TRY(kf_json_pack(&hello, err, "{s:s,s:[i,i],s:s,s:o,s:s,s:s,s:o}", "op", "hello", "protocol",
                      KF_PROTOCOL_MAJOR, KF_PROTOCOL_MINOR, "version", KF_VERSION, "devices", devices,
                      "sandbox", sandbox, "upper", upper, "note",
                      kf_json_text(kf_buf_text(&session->device_note), NOTE_MAX)));
  return kf_session_send(session, hello, err);
}

/* While one child is waited for: builds of other candidates are kept to their limits too. */
static void pump_meanwhile(void *context) {
  kf_artefacts_pump(context);
}

kf_status kf_session_new(int in, int out, kf_session **ret_session, kf_err *err) {
  kf_session *session = kf_calloc(1, sizeof *session);
  if (!session) return kf_nomem(err);
  session->in = in;
  session->out = out;
  kf_settings_init(&session->settings);
  kf_buf_init(&session->device_note, NOTE_MAX);
  kf_wire_reader_init(&session->reader);
  session->artefacts.settings = &session->settings;
  session->artefacts.work = &session->work;
  session->artefacts.spares = &session->spares;
  session->spares.settings = &session->settings;
  session->spares.work = &session->work;
  char prefix[32];
  snprintf(prefix, sizeof prefix, "kf-eval-%d", (int)getpid());
  kf_status status = kf_fs_mkdtemp(session->work.root, prefix, err);
  if (status == KF_OK) sweep_dead_sessions(session->work.root);
  if (status == KF_OK)
    status = kf_device_list(session->devices, &session->ndevices, &session->device_note, err);
  if (status == KF_OK) status = say_hello(session, err);
  if (status != KF_OK) {
    kf_session_free(session);
    return status;
  }
  kf_child_meanwhile(pump_meanwhile, &session->artefacts);
  *ret_session = session;
  return KF_OK;
}

void kf_session_free(kf_session *session) {
  if (!session) return;
  kf_child_meanwhile(NULL, NULL);
  while (session->jobs) {
    kf_job *next = session->jobs->next;
    kf_job_free(session, session->jobs);
    session->jobs = next;
  }
  for (int i = 0; i < session->ndevices; i++)
    kf_ceiling_store_done(&session->ceilings[i], &session->artefacts);
  kf_artefacts_done(&session->artefacts);
  for (int i = 0; i < session->ndevices; i++)
    kf_task_free(session->ceilings[i].task); /* its artefacts borrowed it */
  kf_spares_drop(&session->spares);
  while (session->tasks) {
    kf_task_state *next = session->tasks->next;
    kf_task_state_free(session->tasks);
    session->tasks = next;
  }
  kf_twins_done(&session->twins);
  kf_blobs_done(&session->blobs);
  kf_free(session->flush);
  kf_wire_reader_done(&session->reader);
  kf_buf_done(&session->device_note);
  if (session->work.root[0]) kf_fs_remove_tree(session->work.root, NULL);
  kf_free(session);
}

/* ---- messages ---- */

static kf_status send_protocol_error(kf_session *session, const char *text, kf_err *err) {
  KF_CLEANUP(kf_json_freep) json_t *message = NULL;
  KF_TRY(
      kf_json_pack(&message, err, "{s:s,s:o}", "op", "error", "message", kf_json_text(text, KF_ERR_MSG_MAX)));
  return kf_session_send(session, message, err);
}

static kf_status take_hello(kf_session *session, json_t *message, kf_err *err) {
  json_t *version = NULL, *settings = json_object_get(message, "settings");
  KF_TRY(kf_json_arr(message, "protocol", &version, err));
  if (json_integer_value(json_array_get(version, 0)) != KF_PROTOCOL_MAJOR)
    return kf_fail(err, KF_EPROTO, "wire: the client speaks protocol %lld, this kf-eval speaks %d",
                   (long long)json_integer_value(json_array_get(version, 0)), KF_PROTOCOL_MAJOR);
  kf_spares_drop(&session->spares); /* their limits are settings */
  if (settings) KF_TRY(kf_settings_from_json(&session->settings, settings, err));
  kf_sandbox_upper_allow(session->settings.sandbox_upper);
  return KF_OK;
}

static kf_status take_job(kf_session *session, kf_job_kind kind, json_t *message, kf_err *err) {
  int64_t id = 0;
  KF_TRY(kf_json_int(message, "id", &id, err));
  kf_job *job = kf_calloc(1, sizeof *job);
  if (!job) return kf_nomem(err);
  job->kind = kind;
  job->id = id;
  job->request = json_incref(message);
  int64_t deadline_ms = kf_json_int_or(message, "deadline_ms", 0);
  if (deadline_ms > DEADLINE_MAX_MS) deadline_ms = DEADLINE_MAX_MS;
  job->deadline_ns = deadline_ms > 0 ? kf_now_ns() + deadline_ms * 1000000 : 0;
  kf_job **link = &session->jobs;
  while (*link)
    link = &(*link)->next;
  *link = job;
  return KF_OK;
}

static void take_cancel(kf_session *session, const json_t *message) {
  int64_t id = kf_json_int_or(message, "id", -1);
  for (kf_job *job = session->jobs; job; job = job->next)
    if (job->id == id) job->canceled = true;
}

static kf_status on_message(void *context, json_t *message, const char *blob, size_t blob_len, kf_err *err) {
  kf_session *session = context;
  const char *op = kf_json_str_or(message, "op", "");
  if (blob) return kf_blobs_put(&session->blobs, blob, blob_len, err);
  if (strcmp(op, "hello") == 0) return take_hello(session, message, err);
  if (strcmp(op, "judge") == 0) return take_job(session, KF_JOB_JUDGE, message, err);
  if (strcmp(op, "inspect") == 0) return take_job(session, KF_JOB_INSPECT, message, err);
  if (strcmp(op, "admit") == 0) return take_job(session, KF_JOB_ADMIT, message, err);
  if (strcmp(op, "cancel") == 0) {
    take_cancel(session, message);
    return KF_OK;
  }
  char text[160];
  snprintf(text, sizeof text, "unknown op \"%.60s\"", op);
  return send_protocol_error(session, text, err);
}

static kf_status read_channel(kf_session *session, kf_err *err) {
  char chunk[READ_CHUNK];
  ssize_t n = read(session->in, chunk, sizeof chunk);
  if (n < 0) {
    if (errno == EINTR || errno == EAGAIN) return KF_OK;
    return kf_fail(err, KF_EIO, "reading requests: %s", strerror(errno));
  }
  if (n == 0) {
    session->closed = true;
    return KF_OK;
  }
  return kf_wire_feed(&session->reader, chunk, (size_t)n, on_message, session, err);
}

kf_status kf_session_poll(kf_session *session, int timeout_ms, kf_err *err) {
  struct pollfd fds[64];
  int count = 0;
  if (!session->closed) fds[count++] = (struct pollfd){.fd = session->in, .events = POLLIN};
  count += kf_artefacts_fds(&session->artefacts, fds + count, (int)KF_COUNTOF(fds) - count);
  if (poll(fds, (nfds_t)count, timeout_ms) < 0 && errno != EINTR)
    return kf_fail(err, KF_EIO, "waiting for requests: %s", strerror(errno));
  if (!session->closed && (fds[0].revents & (POLLIN | POLLHUP | POLLERR))) KF_TRY(read_channel(session, err));
  kf_artefacts_pump(&session->artefacts);
  return KF_OK;
}

/* ---- the queue ---- */

static void unlink_job(kf_session *session, kf_job *job) {
  for (kf_job **link = &session->jobs; *link; link = &(*link)->next)
    if (*link == job) {
      *link = job->next;
      break;
    }
  kf_job_free(session, job);
}

static kf_status send_failure(kf_session *session, const kf_job *job, const kf_err *why, kf_err *err) {
  KF_CLEANUP(kf_json_freep) json_t *result = NULL;
  KF_TRY(kf_json_pack(&result, err, "{s:s,s:I,s:{s:i,s:s,s:o,s:o}}", "op", "result", "id",
                      (json_int_t)job->id, "error", "code", (int)why->code, "status",
                      kf_status_name(why->code), "message", kf_json_text(why->msg, sizeof why->msg), "hint",
                      kf_json_text(why->hint, sizeof why->hint)));
  return kf_session_send(session, result, err);
}

/* Runs a job whose turn it is and sends its result; always removes it. */
static kf_status finish_job(kf_session *session, kf_job *job, kf_err *err) {
  KF_CLEANUP(kf_json_freep) json_t *result = NULL;
  kf_err why = {0};
  session->running = job;
  kf_status status = kf_job_run(session, job, &result, &why);
  session->running = NULL;
  kf_artefacts_resume(&session->artefacts);
  if (job->device && strcmp(job->device->api, "opencl") == 0) kf_spares_keep(&session->spares, job->device);
  status = status == KF_OK ? kf_session_send(session, result, err) : send_failure(session, job, &why, err);
  unlink_job(session, job);
  return status;
}

static kf_status reject_job(kf_session *session, kf_job *job, const kf_err *why, kf_err *err) {
  kf_status status = send_failure(session, job, why, err);
  unlink_job(session, job);
  return status;
}

static bool overdue(const kf_job *job) {
  return job->deadline_ns && kf_now_ns() > job->deadline_ns;
}

/* The oldest job that is ready runs; *ret_ran says whether there was one. */
static kf_status run_next(kf_session *session, bool *ret_ran, kf_err *err) {
  *ret_ran = false;
  for (kf_job *job = session->jobs, *next; job; job = next) {
    bool ready = false;
    kf_err why = {0};
    next = job->next;
    if (job->canceled) {
      kf_fail(&why, KF_ECANCELED, "canceled");
    } else if (overdue(job)) {
      kf_fail(&why, KF_ETIMEOUT, "the deadline of the request passed before it was judged");
    } else if (kf_job_prepare(session, job, &ready, &why) == KF_OK) {
      if (!ready) continue;
      *ret_ran = true;
      return finish_job(session, job, err);
    }
    KF_TRY(reject_job(session, job, &why, err));
  }
  return KF_OK;
}

kf_status kf_session_serve(kf_session *session, kf_err *err) {
  bool ran = false;
  while (!session->closed) {
    bool busy = session->jobs || !kf_spares_settled(&session->spares);
    KF_TRY(kf_session_poll(session, ran ? 0 : busy ? TICK_MS : IDLE_MS, err));
    if (session->closed) break;
    KF_TRY(run_next(session, &ran, err));
  }
  if (session->broken.code == KF_OK) return KF_OK;
  if (err) *err = session->broken;
  return session->broken.code;
}
