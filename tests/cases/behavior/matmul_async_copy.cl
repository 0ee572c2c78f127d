// expect: memory=3 algorithm=0 coordination=1 matrix=0
// buffers: a=in b=in c=out
// launch: product a b c - -
// evidence: accumulators=4 async_or_prefetch=1 staged_local=1
__kernel void product(__global const float *a, __global const float *b, __global float *c, int N, int K) {
  __local float row[256];
  const int col = get_global_id(0), r = get_group_id(1);
  float s0 = 0, s1 = 0, s2 = 0, s3 = 0;
  for (int k0 = 0; k0 < K; k0 += 256) {
    event_t e = async_work_group_copy(row, a + r * K + k0, 256, 0);
    wait_group_events(1, &e);
    for (int k = 0; k < 256; k += 4) {
      s0 += row[k] * b[(k0 + k) * N + col];
      s1 += row[k + 1] * b[(k0 + k + 1) * N + col];
      s2 += row[k + 2] * b[(k0 + k + 2) * N + col];
      s3 += row[k + 3] * b[(k0 + k + 3) * N + col];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  c[r * N + col] = s0 + s1 + s2 + s3;
}
