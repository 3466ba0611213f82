//! Currencies: the codes of ISO 4217 and how many decimals an amount in each has.
//!
//! A code is accepted if list one gives it a minor unit: 165 of its 178 codes, funds included (leases in Chile are
//! priced in CLF). The other 13 are not used for prices in shops: metals (XAU, XAG, XPD, XPT), bond market units (XBA
//! to XBD), units of account (XDR, XSU, XUA), and the codes for testing and for no currency (XTS, XXX).
//!
//! The crate `iso_currency` is not used: it treats VES, which shops in Venezuela use, as superseded, accepts withdrawn
//! codes and would add two kilobytes to the module.

use std::fmt;

use super::Invalid;

/// ISO 4217 list one as published on 2026-01-01 (SIX, maintenance agency): codes and minor units, sorted by code.
///
/// Codes are added but never removed: rates set in a currency must remain readable after an update.
const LIST_ONE: &str = "\
AED2 AFN2 ALL2 AMD2 AOA2 ARS2 AUD2 AWG2 AZN2 BAM2 BBD2 BDT2 BHD3 BIF0 BMD2 \
BND2 BOB2 BOV2 BRL2 BSD2 BTN2 BWP2 BYN2 BZD2 CAD2 CDF2 CHE2 CHF2 CHW2 CLF4 \
CLP0 CNY2 COP2 COU2 CRC2 CUP2 CVE2 CZK2 DJF0 DKK2 DOP2 DZD2 EGP2 ERN2 ETB2 \
EUR2 FJD2 FKP2 GBP2 GEL2 GHS2 GIP2 GMD2 GNF0 GTQ2 GYD2 HKD2 HNL2 HTG2 HUF2 \
IDR2 ILS2 INR2 IQD3 IRR2 ISK0 JMD2 JOD3 JPY0 KES2 KGS2 KHR2 KMF0 KPW2 KRW0 \
KWD3 KYD2 KZT2 LAK2 LBP2 LKR2 LRD2 LSL2 LYD3 MAD2 MDL2 MGA2 MKD2 MMK2 MNT2 \
MOP2 MRU2 MUR2 MVR2 MWK2 MXN2 MXV2 MYR2 MZN2 NAD2 NGN2 NIO2 NOK2 NPR2 NZD2 \
OMR3 PAB2 PEN2 PGK2 PHP2 PKR2 PLN2 PYG0 QAR2 RON2 RSD2 RUB2 RWF0 SAR2 SBD2 \
SCR2 SDG2 SEK2 SGD2 SHP2 SLE2 SOS2 SRD2 SSP2 STN2 SVC2 SYP2 SZL2 THB2 TJS2 \
TMT2 TND3 TOP2 TRY2 TTD2 TWD2 TZS2 UAH2 UGX0 USD2 USN2 UYI0 UYU2 UYW4 UZS2 \
VED2 VES2 VND0 VUV0 WST2 XAD2 XAF0 XCD2 XCG2 XOF0 XPF0 YER2 ZAR2 ZMW2 ZWG2 ";

/// The length of an entry in the list, in bytes.
const ENTRY: usize = 5;

const NOT_A_CURRENCY: Invalid = Invalid("must be the ISO 4217 code of a currency, in capitals");

/// A currency; ordered by code.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Currency {
    /// The index of its entry in the list.
    index: u8,
}

impl Currency {
    /// Parses a code of three capital letters.
    ///
    /// # Errors
    /// If list one has no such currency.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let (listed, _) = LIST_ONE.as_bytes().as_chunks::<ENTRY>();
        let [a, b, c] = text.as_bytes() else {
            return Err(NOT_A_CURRENCY);
        };
        // As a number, a code is compared in one step.
        let code = u32::from_be_bytes([0, *a, *b, *c]);
        listed
            .binary_search_by_key(&code, |[a, b, c, ..]| u32::from_be_bytes([0, *a, *b, *c]))
            .ok()
            .and_then(|index| u8::try_from(index).ok())
            .map(|index| Self { index })
            .ok_or(NOT_A_CURRENCY)
    }

    /// Returns the code, such as `SEK`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        let start = usize::from(self.index) * ENTRY;
        LIST_ONE.get(start..start + 3).unwrap_or_default()
    }

    /// Returns the number of decimals of an amount, 0 to 4.
    #[must_use]
    pub fn minor_unit(self) -> u8 {
        let digit = LIST_ONE.as_bytes().get(usize::from(self.index) * ENTRY + 3);
        digit.map_or(0, |digit| digit - b'0')
    }
}

impl fmt::Debug for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted_and_every_code_in_it_is_found() {
        let (listed, rest) = LIST_ONE.as_bytes().as_chunks::<ENTRY>();
        assert_eq!((listed.len(), rest.len()), (165, 0));
        assert!(listed.is_sorted());
        for [a, b, c, digit, space] in listed {
            let code = String::from_utf8_lossy(&[*a, *b, *c]).into_owned();
            let found = Currency::parse(&code).map(|it| (it.as_str(), it.minor_unit()));
            assert_eq!(found, Ok((code.as_str(), digit - b'0')));
            assert!((b'0'..=b'4').contains(digit) && *space == b' ');
        }
    }
}
