// expect: memory=3 algorithm=0 coordination=1 matrix=0
// options: -DT=16
// buffers: a=in b=in c=out
// launch: matmul a b c - -
// evidence: accumulators=4 async_or_prefetch=1
__kernel void matmul(__global const float *a, __global const float *b, __global float *c, int N, int K) {
  __local float as[2][T][T], bs[2][T][T];
  const int x = get_local_id(0), y = get_local_id(1);
  const int col = get_global_id(0), row = get_global_id(1);
  float4 sum = 0.0f;
  as[0][y][x] = a[row * K + x];
  bs[0][y][x] = b[y * N + col];
  int now = 0;
  for (int k0 = 0; k0 < K; k0 += T) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (k0 + T < K) {
      as[1 - now][y][x] = a[row * K + k0 + T + x];
      bs[1 - now][y][x] = b[(k0 + T + y) * N + col];
    }
    for (int k = 0; k < T; k++) sum += as[now][y][k] * (float4)(bs[now][k][x]);
    now = 1 - now;
  }
  c[row * N + col] = sum.x;
}
