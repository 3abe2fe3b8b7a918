/** Never gives way: it can only be ended from outside. */
function spin(): never {
  for (;;);
}

export { spin as default }
