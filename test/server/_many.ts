import { defineServer, defineTool, type ServerDefinition } from 'caduceus/server'

/** A server whose one tool says how many calls began before this one, and ends no sooner than `gate` have begun; and how many were at work at once. */
export function manyDefinition(gate = 64): ServerDefinition {
  let begun = 0
  let atWork = 0
  let most = 0
  let open = () => {}
  const enough = new Promise<void>((resolve) => {
    open = resolve
  })
  const turn = defineTool({
    name: 'turn',
    input: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] },
    async run({ n }) {
      const place = begun++
      atWork += 1
      most = Math.max(most, atWork)
      if (begun >= gate) open()
      await enough
      await new Promise((resolve) => setImmediate(resolve))
      atWork -= 1
      return `${n} ${place}`
    },
  })
  const seen = defineTool({ name: 'seen', run: () => String(most) })
  return defineServer({ name: 'many', version: '1', tools: [turn, seen] })
}
