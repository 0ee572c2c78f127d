// expect: memory=1 algorithm=0 coordination=2 matrix=2
// buffers: a=in b=in c=out
// launch: mma a b c
__kernel void mma(__global const int8 *a, __global const int8 *b, __global int8 *c) {
  const int i = get_global_id(0);
  c[i] = intel_sub_group_i8_i8_matrix_mad_k32(a[i], b[i], (int8)(0));
}
