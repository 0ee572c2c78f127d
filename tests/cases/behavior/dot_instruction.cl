// expect: memory=1 algorithm=0 coordination=0 matrix=1
// options: -cl-std=CL3.0
// buffers: a=in b=in c=out
// launch: dots a b c -
__kernel void dots(__global const char4 *a, __global const char4 *b, __global int *c, int k) {
  const int i = get_global_id(0);
  int sum = 0;
  for (int j = 0; j < k; j++) sum += dot(a[i * k + j], b[j]);
  c[i] = sum;
}
