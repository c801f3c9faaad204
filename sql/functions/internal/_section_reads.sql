create or replace function loom._section_reads(p_request jsonb) returns loom.section_read[]
language plpgsql stable
as $$
declare
  v_reads jsonb := p_request -> 'reads';
begin
  if session_user <> 'loom_gateway' then
    raise exception using errcode = 'LM302', message = 'The caller may not do this.',
      detail = jsonb_build_object('reason', 'only the API records reads')::text,
      hint = 'Reads are recorded by themselves.';
  end if;
  if jsonb_typeof(v_reads) is distinct from 'array' or jsonb_array_length(v_reads) > 1000
    or jsonb_array_length(v_reads) <> jsonb_array_length(jsonb_path_query_array(v_reads,
      'strict $[*] ? (@.type() == "object" && @.user_id.type() == "string" && @.label.type() == "string"
        && @.reads.type() == "number" && @.reads >= 1 && @.reads <= 1000000)')) then
    raise exception using errcode = 'LM001', message = 'The request is not valid.',
      detail = jsonb_build_object('field', 'reads', 'reason', 'must be a list of at most 1000 reads')::text,
      hint = 'Correct the named field and send the request again.';
  end if;
  return array(
    select row(read ->> 'user_id', read ->> 'label', (read -> 'reads')::numeric)::loom.section_read
    from jsonb_array_elements(v_reads) as read);
end
$$;
comment on function loom._section_reads(jsonb) is 'The reads that the API reports. LM001, LM302.';
