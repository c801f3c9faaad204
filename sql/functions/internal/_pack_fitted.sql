create or replace function loom._pack_fitted(
  p_name text, p_offer loom.pack_offer, p_format text, p_quarters bigint
) returns loom.pack_section
language plpgsql immutable
as $$
declare
  v_frame text[] := loom._pack_frame(p_name, p_format);
  v_body text := coalesce(v_frame[1] || array_to_string(p_offer.bodies, E'\n') || v_frame[2], '');
  v_quarters bigint := loom._token_quarters(v_body);
  v_cut record;
  v_omitted jsonb[] := '{}';
begin
  if v_quarters > p_quarters then
    v_cut := loom._pack_cut(p_offer, p_quarters - loom._token_quarters(v_frame[1] || v_frame[2]));
    p_offer := v_cut.o_offer;
    v_omitted := v_cut.o_omitted;
    v_body := coalesce(v_frame[1] || array_to_string(p_offer.bodies, E'\n') || v_frame[2], '');
    v_quarters := loom._token_quarters(v_body);
  end if;
  return row(v_body, v_quarters, jsonb_build_object('name', p_name, 'text', v_body, 'tokens', (v_quarters + 3) / 4,
    'sha256', loom._sha256(v_body), 'items', coalesce(p_offer.items, '{}'), 'omitted', v_omitted[:100],
    'omitted_count', cardinality(v_omitted)))::loom.pack_section;
end
$$;
comment on function loom._pack_fitted(text, loom.pack_offer, text, bigint) is
  'A section of whole items in their order, as far as each fits into so many quarters of a token with what frames them; the rest is named (the first 100).';
