create or replace function loom._pack_fitted(
  p_name text, p_offer loom.pack_offer, p_format text, p_quarters bigint
) returns loom.pack_section
language plpgsql stable
as $$
declare
  v_frame_quarters bigint := loom._token_quarters(loom._pack_framed(p_name, '{}', p_format));
  v_cut record := loom._pack_cut(p_offer, p_quarters - v_frame_quarters);
  v_section loom.pack_section;
begin
  v_section.body := loom._pack_framed(p_name, (v_cut.o_offer).bodies, p_format);
  v_section.quarters := loom._token_quarters(v_section.body);
  v_section.part := loom._pack_part(p_name, v_section.body, v_section.quarters, (v_cut.o_offer).items, v_cut.o_omitted);
  return v_section;
end
$$;
comment on function loom._pack_fitted(text, loom.pack_offer, text, bigint) is
  'A section of whole items in their order, as far as each fits into so many quarters of a token with what frames them; the rest is named.';
