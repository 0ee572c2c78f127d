// expect: memory=1 algorithm=0 coordination=0 matrix=0
// options: -DTM=2 -DNV=2
// buffers: a=in b=in c=out
// launch: tile a b c - -
// evidence: accumulators=16 register_staging=1 vector_width=4
__kernel void tile(__global const float *a, __global const float *b, __global float *c, int N, int K) {
  float4 sum[TM][NV], row[NV];
  const int r0 = get_global_id(1) * TM, c0 = get_global_id(0) * NV * 4;
#pragma unroll
  for (int i = 0; i < TM; i++)
#pragma unroll
    for (int j = 0; j < NV; j++) sum[i][j] = (float4)(0.0f);
  for (int k = 0; k < K; k++) {
    for (int j = 0; j < NV; j++) row[j] = vload4(0, b + k * N + c0 + j * 4);
    __attribute__((opencl_unroll_hint(2)))
    for (int i = 0; i < TM; i++) {
      const float4 x = (float4)(a[(r0 + i) * K + k]);
      for (int j = 0; j < NV; j++) sum[i][j] = fma(x, row[j], sum[i][j]);
    }
  }
  for (int i = 0; i < TM; i++)
    for (int j = 0; j < NV; j++) vstore4(sum[i][j], 0, c + (r0 + i) * N + c0 + j * 4);
}
