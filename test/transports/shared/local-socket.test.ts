import { existsSync } from 'node:fs'
import { is } from 'uvu/assert'
import { defineActor, startActor } from 'caduceus/runtime'
import { lockAtPath } from '../../../transports/shared/local-socket.js'
import { suite } from '../../support/suite.js'

const test = suite('local sockets')
/** A file system of its own on Linux, as a volume of a container is. */
const mount = '/dev/shm'
const name = `caduceus-${process.pid}`

const lockActor = defineActor({ name: 'lock', init: (path: string, ctx) => lockAtPath(path, ctx) })

const mountTest = existsSync(mount) ? test : (promise: string) => test.skip(promise, `there is no ${mount}`)

mountTest('a folder that is a mount can be locked', async (t) => {
  const lock = await startActor(lockActor, `${mount}/${name}`)
  t.after(() => lock.kill())
  is(existsSync(`${mount}/${name}`), true)
  await lock.stop()
  is(existsSync(`${mount}/${name}`), false)
})

test.run()
