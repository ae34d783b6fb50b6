/* Stand-in for Android's C library: a library that is linked with it loads libc.so, which has the functions. */
void calloc(void)
{
}
void free(void)
{
}
void memcpy(void)
{
}
void memmove(void)
{
}
void memset(void)
{
}
