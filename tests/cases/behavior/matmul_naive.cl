// expect: memory=0 algorithm=0 coordination=0 matrix=0
// buffers: a=in b=in c=out
// launch: matmul a b c - - -
// evidence: accumulators=1 sweeps=1 register_staging=0
__kernel void matmul(__global const float *a, __global const float *b, __global float *c, int M, int N, int K) {
  const int col = get_global_id(0), row = get_global_id(1);
  if (row >= M || col >= N) return;
  float sum = 0.0f;
  for (int k = 0; k < K; k++) sum += a[row * K + k] * b[k * N + col];
  c[row * N + col] = sum;
}
