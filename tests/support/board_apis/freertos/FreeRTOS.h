#include "../FreeRTOS.h"
