/**
 * The only names from outside the language that pure code may use. Everything else a host offers
 * (files, clock, randomness, hashes, network) comes in as an argument.
 */
declare class TextDecoder {
  constructor(label?: string, options?: { fatal?: boolean; ignoreBOM?: boolean });
  decode(bytes?: Uint8Array, options?: { stream?: boolean }): string;
}
declare class TextEncoder {
  encode(text?: string): Uint8Array;
}
interface AbortSignal {
  readonly aborted: boolean;
}
