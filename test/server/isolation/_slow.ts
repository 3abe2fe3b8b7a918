// Takes its time to be loaded.
await new Promise((resolve) => setTimeout(resolve, 300))

export { slow as default }

function slow(): string {
  return 'slow'
}
