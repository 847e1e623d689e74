/** Colours of variants, the same in reports and on the live page. */

/**
 * [on white, on dark]. Neighbours differ in lightness, since variants of similar accuracy adjoin in
 * the heat maps. Based on the "muted" scheme of Paul Tol and the palette of Okabe and Ito, which
 * stay distinct in all common kinds of colour blindness.
 */
export const VARIANT_COLOURS = [
  ["#332288", "#9a8cf0"],
  ["#dd9e1c", "#f0bd55"],
  ["#117733", "#2f9e57"],
  ["#56b4e9", "#7fcbf5"],
  ["#882255", "#d1578f"],
  ["#44aa99", "#62cdbb"],
  ["#c8506a", "#f08a99"],
  ["#0068a8", "#3f8fd2"],
  ["#99992b", "#c9c95c"],
  ["#aa4499", "#b55fc4"],
] as const;
