/* The part of Arduino's interface that sketches of packages use; core.cpp prints to the emulator. */
#ifndef ARDUINO_H
#define ARDUINO_H

#include <stddef.h>
#include <stdint.h>

#define DEC 10
#define HEX 16

struct Printer {
    void begin(unsigned long baud);
    operator bool();
    void print(const char *text);
    void print(int number, int base = DEC);
    void print(unsigned number, int base = DEC);
    void print(long number, int base = DEC);
    void print(unsigned long number, int base = DEC);
    void print(double number, int digits = 2);
    template <typename... Given> void println(Given... given)
    {
        print(given...);
        print("\n");
    }
};
extern Printer Serial;

unsigned long micros();
unsigned long millis();
void delay(unsigned long milliseconds);
void setup();
void loop();

#endif
