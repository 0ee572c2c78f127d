// expect: memory=0 algorithm=0 coordination=0 matrix=0
// buffers: x=in y=out
// launch: first x y -
// evidence: vector_width=1
// One lane of a vector is a scalar access, and private vectors are no memory access at all.
__kernel void first(__global const float4 *x, __global float *y, int n) {
  const int i = get_global_id(0);
  float4 bias = (float4)(1.0f, 2.0f, 3.0f, 4.0f);
  float list[4] = {1.0f, 2.0f, 3.0f, 4.0f};
  float4 copy = vload4(0, list);
  y[i] = x[i].x + bias.y + copy.z;
}
