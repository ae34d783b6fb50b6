"""What Arduino and PlatformIO call the boards of a target: its library is for no others."""

from __future__ import annotations

from dataclasses import dataclass

from edgekit.core.target import Target


@dataclass(frozen=True)
class Platforms:
    """Platforms of PlatformIO, and architectures of Arduino's cores."""

    platformio: tuple[str, ...]
    arduino: tuple[str, ...]


_ESP32 = Platforms(("espressif32",), ("esp32",))
_NRF52 = Platforms(("nordicnrf52",), ("mbed", "mbed_nano", "nrf52"))
_RP2 = Platforms(("raspberrypi",), ("mbed", "mbed_nano", "mbed_rp2040", "rp2040"))
_STM32 = Platforms(("ststm32",), ("mbed", "mbed_giga", "mbed_portenta", "stm32", "STM32F4", "STM32H7"))
# By the beginning of a target's name: chips.
_CHIPS = {"esp32": _ESP32, "nrf52": _NRF52, "rp2": _RP2, "stm32": _STM32}
_CORTEX_M = (_NRF52, _RP2, _STM32)
_OTHER_CORTEX_M = Platforms(
    (
        "atmelsam",
        "freescalekinetis",
        "infineonxmc",
        "maxim32",
        "nordicnrf51",
        "nxpimxrt",
        "nxplpc",
        "renesas-ra",
        "siliconlabsefm32",
        "teensy",
        "titiva",
    ),
    ("renesas_uno", "renesas_portenta", "sam", "samd", "silabs", "teensy", "zephyr"),
)
_RISCV32 = Platforms(("chipsalliance", "espressif32", "gd32v", "sifive"), ("ch32v", "esp32"))
_XTENSA = Platforms(("espressif32", "espressif8266"), ("esp32", "esp8266"))


def platforms_of(target: Target) -> Platforms:
    """Those of its chip, or of all chips with such a processor."""
    for name, chip in _CHIPS.items():
        if target.name.startswith(name):
            return chip
    if target.startup != "cortex_m":
        return _RISCV32 if target.core == "riscv32" else _XTENSA
    every = (*_CORTEX_M, _OTHER_CORTEX_M)
    return Platforms(
        tuple(sorted({name for each in every for name in each.platformio})),
        tuple(sorted({name for each in every for name in each.arduino})),
    )
