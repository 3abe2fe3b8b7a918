import { optionReaders } from '../../runtime/base/read-options.js'
import { optionError } from './errors.js'

/** The readers of this floor, for the options of `of`: each throws BAD_OPTION, naming it and the field. */
export function readersOf(of?: string) {
  return optionReaders((field, problem) =>
    optionError(field, of === undefined ? problem : `${of}: ${problem}`),
  )
}
