/* The little of stdlib that test programs use. */
#ifndef EDGEKIT_BARE_STDLIB_H
#define EDGEKIT_BARE_STDLIB_H

int atoi(const char *text);

#endif
