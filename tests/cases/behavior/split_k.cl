// expect: memory=0 algorithm=3 coordination=3 matrix=0
// buffers: a=in b=in c=out t=temp
// launch: part a b t - - -
// launch: sum t c - -
// The sum over k is split across a third dimension of the launch.
__kernel void part(__global const float *a, __global const float *b, __global float *t, int M, int N, int K) {
  int col = get_global_id(0), row = get_global_id(1), z = get_global_id(2);
  int per = K / get_global_size(2);
  float s = 0;
  for (int k = z * per; k < (z + 1) * per; k++)
    s += a[row * K + k] * b[k * N + col];
  t[(z * M + row) * N + col] = s;
}
__kernel void sum(__global const float *t, __global float *c, int n, int parts) {
  int i = get_global_id(0);
  float s = 0;
  for (int z = 0; z < parts; z++)
    s += t[z * n + i];
  c[i] = s;
}
