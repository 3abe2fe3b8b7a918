import { z } from 'zod'
import { type CalendarDate, field, type OutputOf } from 'caduceus/protocol'
import type { ArgumentsOf } from 'caduceus/server'

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
declare function holds<_ extends true>(): void

const person = field.group({
  name: field.string({ min: 1 }),
  age: field.integer({ range: [0, 150] }).optional(),
  by: field.integer({ default: 1 }),
  born: field.date(),
  unit: field.enum(['kg', 'lb']),
  tags: field.list(field.string()),
  scores: field.map(field.number()),
  home: field.group({ street: field.string() }),
  plain: { type: 'boolean' },
  other: z.string(),
  maybe: z.number().optional(),
  anything: field.any(),
})

holds<
  Same<
    OutputOf<typeof person>,
    {
      name: string
      by: number
      born: CalendarDate
      unit: 'kg' | 'lb'
      tags: string[]
      scores: Record<string, number>
      home: { street: string }
      plain: boolean
      other: string
      anything: unknown
      age?: number
      maybe?: number | undefined
    }
  >
>()

holds<
  Same<
    ArgumentsOf<{ id: { readonly type: 'string' }; kind: { readonly enum: readonly ['a', 'b'] } }>,
    { id: string; kind: 'a' | 'b' }
  >
>()
holds<
  Same<
    ArgumentsOf<{ type: 'object'; properties: { id: { type: 'string' } }; required: readonly ['id'] }>,
    { id: string }
  >
>()

// @ts-expect-error a default of another type
field.integer({ default: 'x' })
// @ts-expect-error limits are numbers
field.string({ min: '1' })
// @ts-expect-error a default that is none of the choices
field.enum(['a', 'b'], { default: 'c' })
// @ts-expect-error a list has items
field.list()
