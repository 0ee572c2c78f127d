// expect: memory=1 algorithm=0 coordination=0 matrix=0
// buffers: a=in b=in c=out
// launch: dots a b c -
// A dot product of floats is arithmetic like any other.
__kernel void dots(__global const float4 *a, __global const float4 *b, __global float *c, int k) {
  const int i = get_global_id(0);
  float sum = 0;
  for (int j = 0; j < k; j++) sum += dot(a[i * k + j], b[j]);
  c[i] = sum;
}
