// The smallest picture and the shortest sound that any program takes.
import { Buffer } from 'node:buffer'

/** A PNG of one red pixel, in base64. */
export const redPixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg=='

/** A WAV of one silent sample (8 kHz, 8 bits), in base64. */
export const silence = Buffer.concat([
  Buffer.from('RIFF\u0025\0\0\0WAVEfmt \u0010\0\0\0\u0001\0\u0001\0', 'latin1'),
  Buffer.from([0x40, 0x1f, 0, 0, 0x40, 0x1f, 0, 0, 1, 0, 8, 0]),
  Buffer.from('data\u0001\0\0\0\u0080', 'latin1'),
]).toString('base64')
