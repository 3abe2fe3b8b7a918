/** A date: no time, no zone, and so no shift between zones (ISO 8601). */
export class CalendarDate {
  readonly year: number
  /** 1 to 12. */
  readonly month: number
  /** 1 to 31. */
  readonly day: number

  constructor(year: number, month: number, day: number) {
    this.year = year
    this.month = month
    this.day = day
    Object.freeze(this)
  }

  /** Such as `2024-01-15`, which `Temporal.PlainDate.from` reads. */
  toString(): string {
    return `${pad(this.year, 4)}-${pad(this.month)}-${pad(this.day)}`
  }

  toJSON(): string {
    return this.toString()
  }
}

/** A time of day: no date, no zone (ISO 8601). */
export class ClockTime {
  readonly hour: number
  readonly minute: number
  readonly second: number
  /** 0 to 999,999,999. */
  readonly nanosecond: number

  constructor(hour: number, minute: number, second = 0, nanosecond = 0) {
    this.hour = hour
    this.minute = minute
    this.second = second
    this.nanosecond = nanosecond
    Object.freeze(this)
  }

  /** Such as `14:30:00` or `14:30:00.25`, which `Temporal.PlainTime.from` reads. */
  toString(): string {
    const { hour, minute, second, nanosecond } = this
    const fraction = nanosecond === 0 ? '' : `.${pad(nanosecond, 9).replace(/0+$/, '')}`
    return `${pad(hour)}:${pad(minute)}:${pad(second)}${fraction}`
  }

  toJSON(): string {
    return this.toString()
  }
}

/** A date and a time of day without a zone (ISO 8601). */
export class NaiveDateTime {
  readonly date: CalendarDate
  readonly time: ClockTime

  constructor(date: CalendarDate, time: ClockTime) {
    this.date = date
    this.time = time
    Object.freeze(this)
  }

  /** Such as `2024-01-15T14:30:00`, which `Temporal.PlainDateTime.from` reads. */
  toString(): string {
    return `${this.date}T${this.time}`
  }

  toJSON(): string {
    return this.toString()
  }
}

/** A moment, with the UTC offset it was given in (RFC 3339). */
export class ZonedDateTime {
  /** The date and time at that offset. */
  readonly local: NaiveDateTime
  /** Minutes east of UTC. */
  readonly offset: number

  constructor(local: NaiveDateTime, offset: number) {
    this.local = local
    this.offset = offset
    Object.freeze(this)
  }

  /** Milliseconds since 1970-01-01T00:00Z. */
  get epochMs(): number {
    const { date, time } = this.local
    const day = new Date(0)
    day.setUTCFullYear(date.year, date.month - 1, date.day)
    day.setUTCHours(time.hour, time.minute, time.second, Math.floor(time.nanosecond / 1e6))
    return day.getTime() - this.offset * 60_000
  }

  /** The same moment in ms, without the offset. */
  toDate(): Date {
    return new Date(this.epochMs)
  }

  /** Such as `2024-01-15T14:30:00+01:00`, which `Temporal.Instant.from` reads. */
  toString(): string {
    if (this.offset === 0) return `${this.local}Z`
    const minutes = Math.abs(this.offset)
    return `${this.local}${this.offset < 0 ? '-' : '+'}${pad(Math.floor(minutes / 60))}:${pad(minutes % 60)}`
  }

  toJSON(): string {
    return this.toString()
  }
}

const dateText = /^(\d{4})-(\d{2})-(\d{2})$/
const timeText = /^(\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?$/
const offsetText = /^(.*[^+-])(?:[Zz]|([+-])(\d{2}):?(\d{2}))$/

/** Reads `2024-01-15`; undefined for anything else. */
export function parseDate(text: string): CalendarDate | undefined {
  const [, year, month, day] = dateText.exec(text)?.map(Number) ?? []
  if (year === undefined || month === undefined || day === undefined) return undefined
  const isDay = month >= 1 && month <= 12 && day >= 1 && day <= daysIn(year, month)
  return isDay ? new CalendarDate(year, month, day) : undefined
}

/** Reads `14:30`, `14:30:00` or `14:30:00.25`; undefined for anything else. */
export function parseTime(text: string): ClockTime | undefined {
  const [whole, hour, minute, second = '0', fraction = ''] = timeText.exec(text) ?? []
  if (whole === undefined) return undefined
  const time = new ClockTime(Number(hour), Number(minute), Number(second), Number(fraction.padEnd(9, '0')))
  return time.hour < 24 && time.minute < 60 && time.second < 60 ? time : undefined
}

/** Reads `2024-01-15T14:30:00`; undefined for anything else, also with a zone. */
export function parseNaive(text: string): NaiveDateTime | undefined {
  if (text[10] !== 'T' && text[10] !== 't' && text[10] !== ' ') return undefined
  const date = parseDate(text.slice(0, 10))
  const time = date && parseTime(text.slice(11))
  return date && time && new NaiveDateTime(date, time)
}

/** Reads `2024-01-15T14:30:00Z` or `…+01:00`; undefined for anything else, also without a zone. */
export function parseZoned(text: string): ZonedDateTime | undefined {
  const [, naive, sign, hours = '0', minutes = '0'] = offsetText.exec(text) ?? []
  const local = naive === undefined ? undefined : parseNaive(naive)
  if (local === undefined || Number(hours) > 23 || Number(minutes) > 59) return undefined
  const offset = Number(hours) * 60 + Number(minutes)
  return new ZonedDateTime(local, sign === '-' && offset > 0 ? -offset : offset)
}

function daysIn(year: number, month: number): number {
  if (month !== 2) return [4, 6, 9, 11].includes(month) ? 30 : 31
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28
}

function pad(value: number, length = 2): string {
  return String(value).padStart(length, '0')
}
