/* The entry of a DLL without a C library: there is nothing to start or to end. */
int __stdcall DllMainCRTStartup(void *module, unsigned long reason, void *reserved);

int __stdcall DllMainCRTStartup(void *module, unsigned long reason, void *reserved)
{
    (void)module;
    (void)reason;
    (void)reserved;
    return 1;
}
