import { lazy } from '../../runtime/faults/load.js'
import { readersOf } from '../base/read-options.js'
import { checkFolder, makeFolder } from './folder.js'
import { LocalEngine, type OpenEngine } from './local-engine.js'

const load = /* @__PURE__ */ lazy('../../server/engine/open-files.js', () => import('./open-files.js'))

/** Options of `files()`. */
export interface FilesOptions {
  /** A folder that holds nothing else; it is made if it is missing (mode 0700). */
  readonly folder: string
  /**
   * Whether a save waits for the disk (fsync): what was answered then survives a loss of power, and each save
   * takes as long as the disk. Default false: it survives any end of the program.
   */
  readonly durable?: boolean
  /** Bytes of one session; a larger one is refused with BAD_STATE, which fails the request. Default 1 MiB. */
  readonly maxBytes?: number
}

/**
 * An engine for one program of one machine, and its `processes`: sessions, tasks and the secret that cursors and
 * `requestState` are sealed with are files in a folder, and survive the program, `kill -9` included. A server
 * on a folder that another one has is refused with BAD_OPTION when it starts. Throws ServerError BAD_OPTION, also
 * if the folder cannot be made or written.
 */
export function files(options: FilesOptions): LocalEngine {
  const { badOption, readFields, readFlag, readLimit } = readersOf('files')
  readFields(options, 'options', ['folder', 'durable', 'maxBytes'], '', "files({ folder: './sessions' })")
  const { folder } = options
  if (typeof folder !== 'string' || folder === '') throw badOption('folder', 'the path of a folder', folder)
  // at once: a wrong folder fails the start of the program, not its first session
  const path = makeFolder(folder)
  checkFolder(path, true)
  const durable = readFlag(options.durable, 'durable', false)
  const maxBytes = readLimit(options.maxBytes, 'maxBytes', 1_048_576)
  let open: OpenEngine | undefined
  return new LocalEngine({
    name: `files ${path}`,
    outlives: true,
    maxBytes,
    async open(ctx, limits) {
      const { lockFolder, openFolder } = await load()
      await lockFolder(path, ctx)
      open ??= await openFolder(ctx, { ...limits, path, durable, maxBytes })
      return open
    },
  })
}
