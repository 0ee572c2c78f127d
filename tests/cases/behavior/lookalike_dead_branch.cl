// expect: memory=0 algorithm=0 coordination=0 matrix=0
// options: -DUSE_TILE=0 -D UNROLL=1
// buffers: x=in y=out
// launch: copy x y -
// evidence: barrier=0 global_atomic=0 vector_width=1 subgroup=0
// Everything here is behind a condition that is constant once the parameters are bound.
__kernel void not_launched(__global const float4 *x, __global float4 *y) {
  __local float4 tile[64];
  tile[get_local_id(0)] = x[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  y[get_global_id(0)] = tile[63 - get_local_id(0)];
}
void stage(__global const float *x, __local float *tile, __global float *y) {
  tile[get_local_id(0)] = x[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  y[get_global_id(0)] = tile[63 - get_local_id(0)];
}
#define DEBUG 0
__kernel void copy(__global const float *x, __global float *y, int n) {
  __local float tile[64];
  const int i = get_global_id(0);
  const bool tiled = USE_TILE != 0;
  if (0) stage(x, tile, y);
  if (USE_TILE) {
    stage(x, tile, y);
    return;
  }
  if (tiled && n > 64) stage(x, tile, y);
#if USE_TILE || 0
  stage(x, tile, y);
#endif
  while (DEBUG) barrier(CLK_GLOBAL_MEM_FENCE);
  for (int j = 0; j < USE_TILE * 4; j++) vstore4(vload4(j, x), j, y);
  do {
    y[i] = USE_TILE ? vload4(i, x).x : x[i];
  } while (0);
  if (UNROLL == 1) return;
  atomic_add((volatile __global int *)y, sub_group_reduce_add(1));
}
