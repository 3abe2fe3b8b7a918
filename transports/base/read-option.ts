import {
  optionReaders,
  orElse,
  type Read,
  type Readers,
  type ReadWith,
} from '../../runtime/base/read-options.js'
import { optionError } from './errors.js'

export { orElse, type Read, type Readers, type ReadWith }

/** The readers of this floor: each throws BAD_OPTION, naming the field. */
export const { badOption, readFields, readOptions, readGroup, readDelay, readMs, readCount, readFlag } =
  optionReaders(optionError)

/** A string that is not empty and has no NUL, which no system call takes. */
export const readText: Read<string> = (value, field) => {
  if (typeof value === 'string' && value !== '' && !value.includes('\0')) return value
  throw badOption(field, 'a non-empty string without NUL', value)
}

/** A port to listen on; 0: any. */
export const readPort: Read<number> = (value, field) => {
  if (Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 65_535) return Number(value)
  throw badOption(field, 'a port from 0 to 65535', value)
}
