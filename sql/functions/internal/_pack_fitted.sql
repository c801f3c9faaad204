create or replace function loom._pack_fitted(
  p_name text, p_items loom.pack_item[], p_format text, p_quarters bigint
) returns loom.pack_section
language plpgsql immutable
set search_path = loom, pg_temp
as $$
declare
  v_frame text[] := loom._pack_frame(p_name, p_format);
  v_room bigint := p_quarters - loom._token_quarters(v_frame[1] || v_frame[2]);
  v_item loom.pack_item;
  v_cost bigint;
  v_between integer := 0;
  v_texts text[] := '{}';
  v_taken jsonb[] := '{}';
  v_omitted jsonb[] := '{}';
  v_section loom.pack_section;
begin
  foreach v_item in array p_items loop
    -- As loom._token_quarters reckons, and 1 for the newline between two items.
    v_cost := 2::bigint * octet_length(v_item.body) - char_length(v_item.body) + v_between;
    if v_cost <= v_room then
      v_room := v_room - v_cost;
      v_between := 1;
      v_texts := v_texts || v_item.body;
      v_taken := v_taken || v_item.item;
    else
      v_omitted := v_omitted || v_item.item;
    end if;
  end loop;
  v_section.name := p_name;
  if v_texts = '{}' then
    v_section.body := '';
    v_section.quarters := 0;
  else
    v_section.body := v_frame[1] || array_to_string(v_texts, E'\n') || v_frame[2];
    v_section.quarters := p_quarters - v_room;
  end if;
  v_section.items := to_jsonb(v_taken);
  v_section.omitted := to_jsonb(v_omitted[1:100]);
  v_section.omitted_count := cardinality(v_omitted);
  return v_section;
end
$$;
comment on function loom._pack_fitted(text, loom.pack_item[], text, bigint) is
  'A section of whole items in their order, as far as each fits into so many quarters of a token with what frames them; the rest is named (the first 100).';
