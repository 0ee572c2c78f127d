// expect: memory=0 algorithm=0 coordination=0 matrix=0
// base: operations=2 sweeps=1
// buffers: x=in y=out t=temp
// launch: fused_vload4_barrier x t -
// launch: second x y
// evidence: accumulators=0 launches=2 joined_launches=0
// Names, comments and strings say nothing: fused online single pass, __local tile, barrier(CLK_LOCAL_MEM_FENCE), vload4,
// atomic_add, sub_group_reduce_add, double buffer, prefetch, wmma.
int barrier_count(int num_blocks) { return num_blocks + 1; }
float prefetch_tile(float local_tile) { return local_tile; }
__kernel void fused_vload4_barrier(__global const float *x, __global float *t, int num_blocks) {
  const int i = get_global_id(0);
  float bias[4];
  /* fused kernel: __local float tile[16]; barrier(CLK_LOCAL_MEM_FENCE); */
  for (int j = 0; j < 4; j++) bias[j] = j;
  printf("fused: barrier(); __local float4 *vload4; %d", barrier_count(num_blocks));
  t[i] = prefetch_tile(x[i]) + bias[i & 3];
}
__kernel void second(__global const float *x, __global float *y) { y[get_global_id(0)] = x[get_global_id(0)]; }
