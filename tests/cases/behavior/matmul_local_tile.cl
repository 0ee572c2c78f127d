// expect: memory=2 algorithm=0 coordination=1 matrix=0
// options: -DT=16
// buffers: a=in b=in c=out
// launch: matmul a b c - - -
// evidence: accumulators=1 staged_local=1 async_or_prefetch=0 register_staging=0 sweeps=1
__kernel void matmul(__global const float *a, __global const float *b, __global float *c, int M, int N, int K) {
  __local float as[T][T], bs[T][T];
  const int x = get_local_id(0), y = get_local_id(1);
  const int col = get_global_id(0), row = get_global_id(1);
  float sum = 0.0f;
  for (int k0 = 0; k0 < K; k0 += T) {
    as[y][x] = row < M && k0 + x < K ? a[row * K + k0 + x] : 0.0f;
    bs[y][x] = col < N && k0 + y < K ? b[(k0 + y) * N + col] : 0.0f;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < T; k++) sum = mad(as[y][k], bs[k][x], sum);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (row < M && col < N) c[row * N + col] = sum;
}
