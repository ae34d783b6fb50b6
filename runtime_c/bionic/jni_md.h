/* What jni.h of a JDK says of a machine: a JDK brings it for its own system, this one is for Android's. */
#ifndef EDGEKIT_BIONIC_JNI_MD_H
#define EDGEKIT_BIONIC_JNI_MD_H

#define JNIEXPORT __attribute__((visibility("default")))
#define JNIIMPORT
#define JNICALL

typedef signed char jbyte;
typedef int jint;
typedef long long jlong;

#endif
