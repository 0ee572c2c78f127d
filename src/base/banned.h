/* banned.h - calls that have no place here; using one is a compile error that names the replacement. */
#ifndef KF_BASE_BANNED_H
#define KF_BASE_BANNED_H

#undef strcpy
#define strcpy(...) banned_strcpy_use_kf_buf_or_snprintf
#undef strcat
#define strcat(...) banned_strcat_use_kf_buf
#undef sprintf
#define sprintf(...) banned_sprintf_use_snprintf
#undef vsprintf
#define vsprintf(...) banned_vsprintf_use_vsnprintf
#undef gets
#define gets(...) banned_gets_use_kf_fs_read
#undef strtok
#define strtok(...) banned_strtok_not_reentrant
#undef atoi
#define atoi(...) banned_atoi_use_kf_text_int
#undef system
#define system(...) banned_system_use_sandbox
#undef popen
#define popen(...) banned_popen_use_sandbox

#endif
