// The declarations of the package: one file per door, and one chunk per floor for what several doors share.
import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { rollup } from 'rollup'
import { dts } from 'rollup-plugin-dts'

/**
 * Has tsc write the declarations of `project`, then rolls them up below `outdir`. A declaration stands in one file however many
 * doors show it: a class with private fields is the same type behind all of them. False when tsc has printed what is wrong;
 * rejects when the roll-up fails.
 */
export async function declare({ folder, project, entries, outdir, maps = true }) {
  const single = join(folder, outdir, '.declarations')
  try {
    if (!declarationsOf(folder, project, single)) return false
    await rollUp(single, entries, join(folder, outdir), maps)
    return true
  } finally {
    rmSync(single, { recursive: true, force: true })
  }
}

/**
 * Has tsc write the declarations of each file below `outDir`; whether the types are right is for `npm run check`,
 * and takes three times as long. False when it has printed what is wrong.
 */
export function declarationsOf(folder, project, outDir) {
  const tsc = join(folder, 'node_modules', 'typescript', 'bin', 'tsc')
  const args = [tsc, '-p', project, '--outDir', outDir, '--noCheck']
  return spawnSync(process.execPath, args, { cwd: folder, stdio: 'inherit' }).status === 0
}

async function rollUp(single, entries, dir, maps) {
  const names = entries.map((path) => path.replace(/\.ts$/, ''))
  const input = Object.fromEntries(names.map((name) => [name, join(single, `${name}.d.ts`)]))
  const external = (id) => !/^[./]/.test(id)
  const bundle = await rollup({ input, external, plugins: [dts({ sourcemap: maps })], onwarn: refuse })
  await bundle.write({
    dir,
    format: 'es',
    entryFileNames: '[name].d.ts',
    chunkFileNames: 'chunks/[name].d.ts',
    minifyInternalExports: false,
    sourcemap: maps,
    manualChunks: (id) => floorOf(single, id, names),
  })
  await bundle.close()
}

/** A chunk per floor: files that belong to a door alone, and the doors themselves, stay out of it. */
function floorOf(single, id, names) {
  const path = relative(single, id).split(sep).join('/')
  const isDoor = names.includes(path.replace(/\.d\.ts$/, ''))
  return isDoor || dirname(path) === '.' ? undefined : path.split('/', 1)[0]
}

/** A type that a door uses and does not show is nobody's but the library's; anything else is a mistake. */
function refuse({ message }) {
  if (!message.includes('private shared type exports')) throw new Error(message)
}
