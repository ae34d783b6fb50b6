/* Runs setup() and loop() once each, and prints by way of the emulator. */
#include "Arduino.h"

extern "C" {
#include "stdio.h"
int main(int argc, char **argv);
}

Printer Serial;

static void put(unsigned long number, unsigned base)
{
    if (number >= base)
        put(number / base, base);
    fwrite(&"0123456789ABCDEF"[number % base], 1, 1, stdout);
}

void Printer::begin(unsigned long)
{
}

Printer::operator bool()
{
    return true;
}

void Printer::print(const char *text)
{
    size_t length = 0;
    while (text[length])
        length++;
    fwrite(text, 1, length, stdout);
}

void Printer::print(int number, int base)
{
    print((long)number, base);
}

void Printer::print(unsigned number, int base)
{
    print((unsigned long)number, base);
}

void Printer::print(long number, int base)
{
    if (number < 0)
        print("-");
    put(number < 0 ? 0ul - (unsigned long)number : (unsigned long)number, (unsigned)base);
}

void Printer::print(unsigned long number, int base)
{
    put(number, (unsigned)base);
}

void Printer::print(double number, int digits)
{
    if (number < 0)
        print("-");
    number = number < 0 ? -number : number;
    put((unsigned long)number, 10);
    print(".");
    for (number -= (double)(unsigned long)number; digits > 0; digits--) {
        number = 10 * number;
        put((unsigned long)number, 10);
        number -= (double)(unsigned long)number;
    }
}

unsigned long micros()
{
    return 0;
}

unsigned long millis()
{
    return 0;
}

void delay(unsigned long)
{
}

int main(int, char **)
{
    setup();
    loop();
    return 0;
}
