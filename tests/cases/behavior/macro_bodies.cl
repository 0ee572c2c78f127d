// expect: memory=2 algorithm=0 coordination=1 matrix=0
// options: -DT=8 "-DREAL=float"
// buffers: x=in y=out
// launch: blur_float x y -
// Kernels out of macros, types out of typedefs, anonymous structs.
typedef REAL real;
typedef struct { real left, right; } pair;
typedef enum { ONE = 1, TWO } number;
#define SYNC barrier(CLK_LOCAL_MEM_FENCE)
#define ADD(into, a, b) into += (a) * (b)
#define KERNEL(TYPE)                                                                     \
  __kernel void blur_##TYPE(__global const TYPE *x, __global TYPE *y, int n) {            \
    __local TYPE t[T + TWO];                                                             \
    const int lid = get_local_id(0), base = get_group_id(0) * T;                         \
    for (int i = lid; i < T + TWO; i += T) t[i] = x[base + i];                           \
    SYNC;                                                                                \
    const pair p = {t[lid], t[lid + TWO]};                                               \
    TYPE sum = t[lid + ONE];                                                             \
    ADD(sum, p.left + p.right, (TYPE)0.5);                                               \
    y[base + lid] = sum;                                                                 \
  }
KERNEL(float)
KERNEL(int)
